"""The commands of `sema box` about agents that write programs, a file each."""
