"""Sema modules in a Python program.

python examples/from_python.py
"""

import semac.importer

semac.importer.install()

from geometry import vectors  # noqa: E402  geometry/vectors.sema

print(vectors.add([1, 2], [3, 4]), vectors.norm([3, 4]))
print([round(x, 2) for x in vectors.scale([0.1, 0.2], 3)])
help(vectors.add)
