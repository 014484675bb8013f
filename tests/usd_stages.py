"""Stages made with usd-core, for tests and as seeds of mutants."""

import pathlib

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdSkel, Vt

from pliant import shapes

SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]])


def new_stage(path: pathlib.Path, up: str = "Z", metres: float = 0.01):
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.SetStageMetersPerUnit(stage, metres)
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/World").GetPrim())
    return stage


def mesh_at(stage, path: str, x: np.ndarray, faces: list[list[int]]):
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.asarray(x, np.float32)))
    mesh.CreateFaceVertexCountsAttr([len(f) for f in faces])
    mesh.CreateFaceVertexIndicesAttr([i for f in faces for i in f])
    mesh.CreateExtentAttr(Vt.Vec3fArray.FromNumpy(np.stack([x.min(0), x.max(0)]).astype(np.float32)))
    return mesh


def z_up(x: np.ndarray) -> np.ndarray:
    """Metres with y up as centimetres with z up."""
    return 100.0 * np.stack([x[..., 0], -x[..., 2], x[..., 1]], -1)


def shot(folder: pathlib.Path) -> pathlib.Path:
    """A shot in centimetres with z up: a body that moves by a transform, and by reference with a variant a skirt with
    animated points, materials, normals, texture coordinates and polygons."""
    asset = new_stage(folder / "skirt.usda")
    root = UsdGeom.Xform.Define(asset, "/World").GetPrim()
    sets = root.GetVariantSets().AddVariantSet("cut")
    for name, height in (("long", 0.102), ("short", 0.095)):
        sets.AddVariant(name)
        sets.SetVariantSelection(name)
        with sets.GetVariantEditContext():
            cloth = shapes.cloth(0.3, 0.3, 13)
            x = cloth.vertices + np.array([0.003, height, 0.001])
            quads = [
                [r * 13 + c, r * 13 + 13 + c, r * 13 + 14 + c, r * 13 + 1 + c] for r in range(12) for c in range(12)
            ]
            mesh = mesh_at(asset, "/World/Skirt", z_up(x), quads)
            mesh.CreateNormalsAttr(Vt.Vec3fArray.FromNumpy(np.tile(np.float32([0, 0, 1]), (169, 1))))
            mesh.SetNormalsInterpolation("vertex")
            st = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, "faceVarying")
            st.Set(Vt.Vec2fArray.FromNumpy((x[np.ravel(quads)][:, [0, 2]] * 3).astype(np.float32)))
    sets.SetVariantSelection("long")
    material = UsdShade.Material.Define(asset, "/World/Tartan")
    surface = UsdShade.Shader.Define(asset, "/World/Tartan/Surface")
    surface.CreateIdAttr("UsdPreviewSurface")
    surface.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set((0.5, 0.25, 0.125))
    material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
    asset.GetRootLayer().Save()

    stage = new_stage(folder / "shot.usda")
    stage.SetStartTimeCode(101)
    stage.SetEndTimeCode(104)
    stage.SetTimeCodesPerSecond(25)
    ball = shapes.ball(0.1, 3)
    mesh = mesh_at(stage, "/World/Body", z_up(ball.vertices), ball.faces.tolist())
    lift = UsdGeom.Xformable(mesh).AddTranslateOp()
    worn = stage.DefinePrim("/World/Garment")
    worn.GetReferences().AddReference("./skirt.usda")
    worn.GetVariantSets().GetVariantSet("cut").SetVariantSelection("short")
    moved = UsdGeom.Xformable(worn).AddTranslateOp()
    for k in range(4):
        lift.Set(Gf.Vec3d(0.0, 0.0, 0.3 * k), 101 + k)
        moved.Set(Gf.Vec3d(0.0, 0.0, 0.2 * k), 101 + k)
    skirt = stage.GetPrimAtPath("/World/Garment/Skirt")
    UsdShade.MaterialBindingAPI.Apply(skirt).Bind(UsdShade.Material(stage.GetPrimAtPath("/World/Garment/Tartan")))
    stage.GetRootLayer().Save()
    return folder / "shot.usda"


def skinned(path: pathlib.Path) -> pathlib.Path:
    """A bar on two joints with a blend shape, below a transform that turns and scales it."""
    stage = new_stage(path, "Y", 1.0)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(2)
    root = UsdSkel.Root.Define(stage, "/World/Hero")
    UsdGeom.Xformable(root).AddRotateZOp().Set(30.0)
    skeleton = UsdSkel.Skeleton.Define(stage, "/World/Hero/Rig")
    skeleton.CreateJointsAttr(["hip", "hip/knee"])
    rest = [Gf.Matrix4d(1), Gf.Matrix4d().SetTranslate((0, 1, 0))]
    skeleton.CreateBindTransformsAttr(rest)
    skeleton.CreateRestTransformsAttr(rest)
    move = UsdSkel.Animation.Define(stage, "/World/Hero/Rig/Move")
    move.CreateJointsAttr(["hip/knee"])  # a joint order of its own
    move.CreateBlendShapesAttr(["thick"])
    for t in range(3):
        turn = Gf.Rotation((0, 0, 1), 20.0 * t).GetQuat()
        move.CreateTranslationsAttr().Set([Gf.Vec3f(0, 1, 0)], t)
        move.CreateRotationsAttr().Set([Gf.Quatf(turn)], t)
        move.CreateScalesAttr().Set([Gf.Vec3h(1, 1, 1)], t)
        move.CreateBlendShapeWeightsAttr().Set([0.5 * t], t)
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([move.GetPath()])
    x = np.array([[0.0, 0, 0], [0.2, 0, 0], [0.2, 1, 0], [0, 1, 0], [0.2, 2, 0], [0, 2, 0]])
    mesh = mesh_at(stage, "/World/Hero/Bar", x, [[0, 1, 2, 3], [3, 2, 4, 5]])
    UsdGeom.Xformable(mesh).AddTranslateOp().Set(Gf.Vec3d(5, 0, 0))  # skinning replaces it
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    binding.CreateGeomBindTransformAttr(Gf.Matrix4d(1))
    binding.CreateJointIndicesPrimvar(False, 2).Set([0, 1] * 6)
    weights = [[1, 0], [1, 0], [0.5, 0.5], [0.5, 0.5], [0, 1], [0, 1]]
    binding.CreateJointWeightsPrimvar(False, 2).Set(np.ravel(weights).tolist())
    shape = UsdSkel.BlendShape.Define(stage, "/World/Hero/Bar/thick")
    shape.CreateOffsetsAttr([Gf.Vec3f(0.1, 0, 0.3)] * 2)
    shape.CreatePointIndicesAttr([4, 5])
    binding.CreateBlendShapesAttr(["thick"])
    binding.CreateBlendShapeTargetsRel().SetTargets([shape.GetPath()])
    stage.GetRootLayer().Save()
    return path
