"""What usd-core finds wrong with a stage."""


def faults(stage, path):
    """What the library's own checks complain about: a module of validators, or a class in older releases."""
    try:
        from pxr import UsdValidation
    except ImportError:
        from pxr import UsdUtils

        checker = UsdUtils.ComplianceChecker()
        checker.CheckCompliance(str(path))
        return checker.GetErrors() + checker.GetFailedChecks()
    found = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    return [error.GetMessage() for error in UsdValidation.ValidationContext(found).Validate(stage)]
