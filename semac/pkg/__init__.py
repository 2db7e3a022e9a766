"""`sema pkg`: Sema packages from git and registries, and the Python packages of a project."""
