"""Tables: arrays of one dimension that compiled kernels index from the front only.

NumPy lets a negative index count from the end, and compiled code looks out for one at every access.  The
event loop is little else than accesses, and that look-out was a quarter of its time.
"""

from __future__ import annotations

import operator
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, make_attribute_wrapper, models, register_model


class TableType(types.Type):
    """An array of one dimension whose entries are counted from its front."""

    ndim = 1

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"stablecast.Table({dtype})")


@register_model(TableType)
class _TableModel(models.StructModel):
    def __init__(self, manager: Any, table: TableType) -> None:
        super().__init__(manager, table, [("data", types.CPointer(table.dtype)), ("size", types.int64)])  # type: ignore[no-untyped-call]


make_attribute_wrapper(TableType, "size", "size")


@infer_global(operator.getitem)
class _TableGetItem(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        table, index = args
        if isinstance(table, TableType) and isinstance(index, types.Integer):
            return signature(table.dtype, table, types.int64)
        return None


@infer_global(operator.setitem)
class _TableSetItem(AbstractTemplate):
    def generic(self, args: Any, kwargs: Any) -> Any:
        table, index, _ = args
        if isinstance(table, TableType) and isinstance(index, types.Integer):
            return signature(types.none, table, types.int64, table.dtype)
        return None


def _entry(context: Any, builder: Any, typ: TableType, table: Any, index: Any) -> Any:
    """Return the address of an entry."""
    data = cgutils.create_struct_proxy(typ)(context, builder, table).data
    return builder.gep(data, [index])


@lower_builtin(operator.getitem, TableType, types.int64)
def _get_item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.unpack_value(builder, sig.return_type, _entry(context, builder, sig.args[0], *args))


@lower_builtin(operator.setitem, TableType, types.int64, types.Any)
def _set_item(context: Any, builder: Any, sig: Any, args: Any) -> None:
    place = _entry(context, builder, sig.args[0], args[0], args[1])
    context.pack_value(builder, sig.args[2], args[2], place)
