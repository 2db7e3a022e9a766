"""A print server: jobs in a leftist heap of tuples, events taken in order of time, counters in an object."""

from collections import deque


def rank(heap):
    return 0 if heap is None else heap[0]


def make_node(item, a, b):
    if rank(a) >= rank(b):
        return (1 + rank(b), item, a, b)
    return (1 + rank(a), item, b, a)


def merge(a, b):
    if a is None:
        return b
    if b is None:
        return a
    if a[1][:2] < b[1][:2]:
        return make_node(a[1], a[2], merge(a[3], b))
    return make_node(b[1], b[2], merge(a, b[3]))


def insert(heap, item):
    return merge(heap, (1, item, None, None))


def pop(heap):
    return merge(heap[2], heap[3])


def pages(n):
    return 1 + n * 31 % 17


class Server:
    def __init__(self):
        self.events = insert(None, (0, 1, "submitted"))
        self.waiting = deque()
        self.printing = None
        self.done = 0
        self.pages = 0

    def start_printing(self, now):
        if not self.waiting:
            self.printing = None
            return
        job = self.printing = self.waiting.popleft()
        self.events = insert(self.events, (now + 2 * pages(job), job, "printed"))

    def handle(self, event):
        match event:
            case (now, job, "submitted"):
                self.events = insert(self.events, (now + 5 + job * 13 % 30, job + 1, "submitted"))
                self.waiting.append(job)
                if self.printing is None:
                    self.start_printing(now)
            case (now, job, "printed"):
                self.done += 1
                self.pages += pages(job)
                self.start_printing(now)

    def run(self, until):
        while True:
            event = self.events[1]
            self.events = pop(self.events)
            if event[0] > until:
                return
            self.handle(event)


def heap_sort(items):
    heap = None
    for i in items:
        heap = insert(heap, (i, 0))
    out = []
    while heap is not None:
        out.append(heap[1][0])
        heap = pop(heap)
    return out


result = heap_sort([i * 7919 % 20011 for i in range(12000)])
server = Server()
server.run(1500000)
print(f"leftist: {server.done} {server.pages} {len(server.waiting)} {result[0]} {result[6000]} {result[11999]}")
