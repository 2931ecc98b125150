"""Every table by name: the schema of the writers and the data dictionary come from here."""

from __future__ import annotations

from pyharness.spec.columns import Column
from pyharness.spec.device_tables import DEVICE_TABLES
from pyharness.spec.host_tables import HOST_TABLES
from pyharness.spec.result_tables import RESULT_TABLES
from pyharness.spec.soak import SOAK_TABLES
from pyharness.spec.time_tables import TIME_TABLES

TABLES: dict[str, tuple[Column, ...]] = {
    **HOST_TABLES,
    **DEVICE_TABLES,
    **RESULT_TABLES,
    **SOAK_TABLES,
    **TIME_TABLES,
}
