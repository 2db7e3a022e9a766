from pathlib import Path

from workflow_journals import review, written

root = Path(".sema/runs")
written(root, "wf_a", review("wf_a", files=2), result={"status": "success", "n": 2})
changed = review("wf_b", files=2)
kept = '\\"Small, named, tested.\\"'
lines = [line.replace(kept, '\\"Swallows errors.\\"') if '"reader_2"' in line else line for line in changed.lines]
written(root, "wf_b", [line.replace(":ok #t", ":ok #f") if "Swallows" in line else line for line in lines])
written(root, "wf_c", review("wf_c", files=2, until="running"))
