"""What is wrong with a program, found without running it: errors, warnings, malformed workflows."""
