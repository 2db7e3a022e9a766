"""Native code: functions of numbers and arrays compiled to machine code by mypyc, beside the Python of their module."""
