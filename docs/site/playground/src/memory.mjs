// Memories are sent as the difference (exclusive or) to what the module itself puts into memory: most of that is equal.

// The memory in a snapshot begins behind a head, whose length is the second word.
const headOf = (snapshot) => new Uint32Array(snapshot.buffer, snapshot.byteOffset, 2)[1];

// Changes a snapshot (Uint8Array at a multiple of 4) into its difference to a memory, or back; returns it.
export function applyDifference(snapshot, memory) {
  const words = new Uint32Array(snapshot.buffer, snapshot.byteOffset + headOf(snapshot));
  const others = new Uint32Array(memory.buffer, memory.byteOffset, memory.byteLength / 4);
  for (let at = 0; at < others.length; at++) words[at] ^= others[at];
  return snapshot;
}
