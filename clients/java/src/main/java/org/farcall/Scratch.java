// Memory outside the heap for one call: what the library reads its arguments from, and what it
// writes to.
package org.farcall;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A block of memory that is given out from its begin to its end and then used again, and shared memory for what is larger.
 * The collector never moves any of it. It belongs to one call at a time.
 */
final class Scratch {
    private static final long BLOCK_BYTES = 16 << 10;
    /** Every piece begins at a multiple of this: what the library wants of arrays. */
    private static final long ALIGNMENT = 16;

    private final SharedMemory shared;
    private final MemorySegment block;
    private final long begin;
    private long used;
    /** Pieces of shared memory that this call has. */
    private List<SharedMemory.Piece> pieces = List.of();

    Scratch(SharedMemory shared) {
        this.shared = shared;
        // Lives as long as this object: a pool keeps it, and the collector frees it with the pool.
        block = Arena.ofAuto().allocate(BLOCK_BYTES, ALIGNMENT);
        begin = block.address();
    }

    /** So many bytes of any value. */
    long allocate(long bytes) {
        long rounded = (bytes + ALIGNMENT - 1) & -ALIGNMENT;
        if (bytes < 0 || rounded < bytes) {
            throw FarcallException.of(ErrorKind.LIMIT_EXCEEDED, "call",
                "an array of more bytes than an address can count", null);
        }
        if (rounded > BLOCK_BYTES - used) {
            return piece(rounded);
        }
        long address = begin + used;
        used += rounded;
        return address;
    }

    /** The same, all zero. */
    long zeroed(long bytes) {
        long address = allocate(bytes);
        Native.MEMORY.asSlice(address, bytes).fill((byte) 0);
        return address;
    }

    private long piece(long bytes) {
        SharedMemory.Piece piece = shared.take(bytes);
        if (pieces.isEmpty()) {
            pieces = new ArrayList<>();
        }
        pieces.add(piece);
        return piece.address();
    }

    /** Text with a NUL behind it. */
    long text(String text) {
        return bytes(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Bytes with a NUL behind them. */
    long bytes(byte[] bytes) {
        long address = allocate(bytes.length + 1L);
        MemorySegment.copy(bytes, 0, Native.MEMORY, ValueLayout.JAVA_BYTE, address, bytes.length);
        Native.MEMORY.set(ValueLayout.JAVA_BYTE, address + bytes.length, (byte) 0);
        return address;
    }

    long longs(long[] values) {
        long address = allocate(8L * values.length);
        MemorySegment.copy(values, 0, Native.MEMORY, ValueLayout.JAVA_LONG, address, values.length);
        return address;
    }

    /** Nothing of it is used any more. Pieces of a call that was given up are freed: its server may
     * know them still. */
    void clear(boolean wasGivenUp) {
        used = 0;
        for (SharedMemory.Piece piece : pieces) {
            if (wasGivenUp) {
                piece.handle().close();
            } else {
                shared.give(piece);
            }
        }
        pieces = List.of();
    }
}
