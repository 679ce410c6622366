// Which addresses a Service's load balancer shall have.
#pragma once

#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/controllers/notice.h"
#include "isthmus/controllers/service_annotations.h"
#include "isthmus/controllers/service_complaints.h"
#include "isthmus/kube/api/service.h"

namespace isthmus::controllers {

// In the Service's order, of which the first is its primary one; at least one. A Service without
// ipFamilies, which an API server from before dual stack sends, has the families of its cluster
// IPs.
std::vector<IpFamily> families_of(const kube::Service& service);

struct ServiceAddresses {
  std::vector<IpAddress> requested = {};
  std::vector<IpAddress> preferred = {};  // Only where none is requested.
  std::vector<IpFamily> families = {};    // Those of the requested ones, else the Service's.

  friend bool operator==(const ServiceAddresses&, const ServiceAddresses&) = default;
};

// The annotation `addresses` asks for all of them and spec.loadBalancerIP for one; who gives both
// must mean the same. Where only addresses of one family are asked for, a dual-stack Service gets
// no address of the other, and a notice says so. Without a wish the addresses in its status are
// preferred: those are what it had, or what it brings along from another implementation.
//
// A complaint: a loadBalancerIP that is no address or one that nobody can reach, an address of a
// family that the Service does not have, and two wishes that disagree.
ServiceAddresses addresses_of(const kube::Service& service, const ServiceWishes& wishes,
                              Complaints& complaints, std::vector<Notice>& notices);

}  // namespace isthmus::controllers
