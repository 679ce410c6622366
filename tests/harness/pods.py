"""Pods on the machines of a topology, as far as routes can tell them from real ones."""


class Pods:
    """Networks behind the machines: 10.244.N.0/24 and fd00:10:244:N::/64 behind machine N, in each
    of which one address, .10 and ::10, is a pod."""

    def __init__(self, net):
        self.net = net
        for number, machine in enumerate(net.machines, 1):
            machine.namespace.ip("link set lo up",
                                 f"address replace {self.pod(number, 4)}/32 dev lo",
                                 f"address replace {self.pod(number, 6)}/128 dev lo nodad")

    @staticmethod
    def pod(number, family):
        return f"10.244.{number}.10" if family == 4 else f"fd00:10:244:{number}::10"

    @staticmethod
    def network(number, family):
        return f"10.244.{number}.0/24" if family == 4 else f"fd00:10:244:{number}::/64"

    def ask(self, source, target, family, timeout=2):
        """What a pod is told that asks another one: {"machine", "client"} or {"error"}."""
        return self.net.ask(self.pod(target, family), sources=[self.pod(source, family)],
                            namespace=self.net.machines[source - 1].namespace, timeout=timeout)[0]

    def must_talk(self, source=1, target=2):
        """Both families, and the one that is asked sees the address of the one that asks."""
        for family in (4, 6):
            answer = self.ask(source, target, family)
            assert answer.get("machine") == f"machine{target}", (family, answer)
            assert answer["client"] == self.pod(source, family), answer

    def must_not_talk(self, family, source=1, target=2):
        assert "error" in self.ask(source, target, family, timeout=0.5)

    def routes(self, **next_hops):
        """To all networks; `next_hops` as m2="10.88.0.13" say where else than by the inventory."""
        return [{"destination": self.network(number, family), "instance": f"uid-{machine.name}",
                 **({"nextHop": next_hops[f"m{number}"]}
                    if family == 4 and f"m{number}" in next_hops else {})}
                for number, machine in enumerate(self.net.machines, 1) for family in (4, 6)]
