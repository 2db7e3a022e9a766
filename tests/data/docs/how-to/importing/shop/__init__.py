from sema_runtime import importer

importer.install()
