// A list whose nodes live inside the things they link, so that linking never allocates and a thing
// that is destroyed takes itself out. The runtime's queues are made of it, because a suspended
// coroutine must be able to vanish from wherever it waits.
#pragma once

namespace isthmus {

// One node, or, standing alone, the head of a list. A resource: its address is its identity.
class ListNode {
 public:
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { unlink(); }

  // For a node: whether it is in a list. For a head: whether the list has any node.
  bool linked() const { return next_ != this; }

  // Leaves whatever list it is in; harmless when it is in none.
  void unlink() {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }

  // Head only: appends a node that is in no list.
  void push_back(ListNode& node) { insert_before(node); }

  // Head only: the oldest node; the list must not be empty.
  ListNode& front() { return *next_; }

  // Head only: puts a node that is in no list in front of all others.
  void push_front(ListNode& node) { next_->insert_before(node); }

  // Head only: calls visit(node) from the oldest to the newest; visit does not change the list.
  template <class Visit>
  void for_each(Visit visit) {
    for (ListNode* node = next_; node != this; node = node->next_) visit(*node);
  }

  // Head only: takes over all nodes of another head, in order, behind its own.
  void splice(ListNode& other) {
    while (other.linked()) {
      ListNode& node = other.front();
      node.unlink();
      push_back(node);
    }
  }

 private:
  void insert_before(ListNode& node) {
    node.previous_ = previous_;
    node.next_ = this;
    previous_->next_ = &node;
    previous_ = &node;
  }

  ListNode* previous_ = this;
  ListNode* next_ = this;
};

}  // namespace isthmus
