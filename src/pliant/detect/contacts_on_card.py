"""Contact records on a graphics card."""

from typing import Any

import numpy as np

from ..contacts import CONTACT, Contacts
from ..kernels import device as _device


class ContactsOnCard:
    """Contact records (k,) that live on a graphics card, in the order and with the bytes of those of threads.

    `found["normal"]` is a field of all of them, an array on the card that is no copy: `cupy.asarray(found["normal"])`.
    """

    def __init__(self, records: Any) -> None:
        self.records = records

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return f"<ContactsOnCard of {len(self)} records>"

    def __getitem__(self, field: str) -> Any:
        if field not in (CONTACT.names or ()):
            raise KeyError(f"contact records have no field {field!r}; one of: {', '.join(CONTACT.names or ())}")
        return _device.field(self.records, field)

    def copy_to_host(self) -> Contacts:
        """Return a copy as the array of records that detectors on threads return."""
        if not len(self):
            return np.zeros(0, CONTACT)  # type: ignore[return-value]
        return self.records.copy_to_host()
