from sema_runtime import ai

ai.configure("player", complete=lambda request: {"content": "short"}, default_model="played")
text = "long"


def digest(text):
    return ai.sync.complete(text)
