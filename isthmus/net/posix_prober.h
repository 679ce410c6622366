// The real Prober: plain sockets on our reactor.
//
// Each probe has a connection of its own and breaks it with a reset (SO_LINGER 0) as soon as it
// knows enough. A connection that ends in order stays in TIME_WAIT for a minute on the side that
// closed it first, which with 2,000 checks a second are 120,000 dead sockets and conntrack entries
// on this host, or, spread over them, on the machines; a reset leaves none on either. What a server
// sees is a client that hangs up, after an answer that was complete.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "isthmus/net/probe.h"
#include "isthmus/net/world_posix.h"

namespace isthmus::net {

// Of an answer, head included; what is longer counts as complete once so much has come: it is a
// page that somebody chose for a check without thinking of it, and its server is well.
inline constexpr std::size_t kProbeAnswerMax = 64 * 1024;

// Of the path: longer ones are invalid. Whatever the kernel's limits, this fits its send buffer.
inline constexpr std::size_t kProbePathMax = 2048;

// The world outlives the prober, which outlives its probes. They take little memory: an endpoint
// that says nothing costs a socket and about 2 KB, since all share one buffer to read into.
std::unique_ptr<Prober> make_posix_prober(PosixWorld& world);

// How many probes may be under way at once: half the descriptors this process may open, at most
// 2,048. That is room for 512 silent endpoints a second, each for 2 s, beside as many that answer.
// First raises the soft limit of descriptors to the hard one, which harms only who uses select(2).
std::size_t probes_at_once();

// How many connections each of so many listeners may hold beside those probes, at most `most`: what
// is left of the descriptors, without 64 for files, the store and the kernel. More would be
// accepted until there is no descriptor for anything, and then nobody is let in, however many of
// them say nothing.
std::size_t connections_at_once(std::size_t listeners, std::size_t most);

}  // namespace isthmus::net
