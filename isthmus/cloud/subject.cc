#include "isthmus/cloud/subject.h"

namespace isthmus::cloud {

void Census::add(const Subject& subject) {
  ++nodes;
  ready += subject.ready ? 1 : 0;
  control_planes += subject.control_plane ? 1 : 0;
  control_planes_ready += subject.control_plane && subject.ready ? 1 : 0;
  ++zones[subject.zone];
}

void Census::remove(const Subject& subject) {
  --nodes;
  ready -= subject.ready ? 1 : 0;
  control_planes -= subject.control_plane ? 1 : 0;
  control_planes_ready -= subject.control_plane && subject.ready ? 1 : 0;
  if (--zones[subject.zone] == 0) zones.erase(subject.zone);
}

}  // namespace isthmus::cloud
