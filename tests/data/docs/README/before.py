import os
import sys

os.symlink(ROOT / "examples", "examples")
sys.path.insert(0, str(ROOT / "examples"))
