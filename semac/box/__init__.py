"""The side of the box that runs programs: the profile of the language, two checks of what was compiled, the process."""
