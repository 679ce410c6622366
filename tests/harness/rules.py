"""What the kernel holds of load balancers, as nft and not our own program reads it."""

import collections


class Rules:
    """Table inet isthmus of a topology's host at one moment."""

    def __init__(self, net):
        self._items = net.kernel() or []

    def slots(self, address, protocol="TCP", port=80):
        """How many slots each target's address owns at a listener."""
        return collections.Counter(
            value["concat"][0] for key, value in self._elements("slots")
            if key["concat"][:3] == [address, protocol.lower(), port])

    def listeners(self):
        """(address, protocol, port) of what is sent on to targets."""
        return {self._listener(key) for key, _ in self._elements("listeners")}

    def served(self):
        """The same, of what is let through to whoever listens here."""
        return {self._listener(key) for key in self._elements("passed")}

    def guarded(self):
        """Addresses that answer on their listeners' ports only."""
        return set(self._elements("guarded"))

    def masqueraded(self):
        return {self._listener(key) for key in self._elements("masquerade")}

    def notes(self):
        """"OWNER/NAME GENERATION" of each load balancer."""
        return {element["elem"]["comment"] for element in self._elements("ports")
                if isinstance(element, dict) and "comment" in element.get("elem", {})}

    def _elements(self, family):
        """Of all maps and sets of a name, whatever number follows it."""
        for item in self._items:
            held = item.get("map") or item.get("set")
            if held and held["name"].rstrip("0123456789_") == family:
                yield from held.get("elem", [])

    @staticmethod
    def _listener(key):
        address, protocol, port = key.get("elem", {}).get("val", key)["concat"]
        return address, protocol.upper(), port
