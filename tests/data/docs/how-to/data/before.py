import shutil

shutil.copy(ROOT / "tests" / "data" / "pdf" / "pages.pdf", "report.pdf")
