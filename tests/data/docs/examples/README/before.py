import os

os.symlink(ROOT / "examples", "examples")
