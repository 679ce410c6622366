"""Programs that run inside others: with fewer descriptors, on a file system of their own."""


class Wrapped:
    """A namespace whose programs are started by another program."""

    def __init__(self, namespace, wrapper):
        self._namespace = namespace
        self._wrapper = wrapper

    def argv(self, *command):
        return self._namespace.argv(*self._wrapper, *command)
