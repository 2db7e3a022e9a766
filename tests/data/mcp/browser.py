"""A browser of the tests: goes to the address, where it is led on. With a file before it, notes that it was opened."""

import sys
import urllib.error
import urllib.request

*notes, url = sys.argv[1:]
for note in notes:
    with open(note, "a") as file:
        file.write(url + "\n")
try:
    with urllib.request.urlopen(url, timeout=20) as page:
        page.read()
except urllib.error.URLError:
    pass
