// Keeps the arena of native memory open for as long as calls use the memory.
package org.farcall;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

/**
 * Whoever closes an arena while a call uses its memory gets an IllegalStateException, and the process no fault. Java keeps
 * a shared arena open while a function of C runs that was given a segment of it: for each such arena that calls use there is
 * one thread in such a function. That is `bsearch` of the C library, which calls back before it returns; the callback waits.
 */
final class Keeper {
    /** Scopes of arenas that nobody can close. */
    private static final Class<?> GLOBAL = Arena.global().scope().getClass();
    private static final Class<?> AUTOMATIC = Arena.ofAuto().scope().getClass();
    /** No thread of anybody's: it can use what is not one thread's alone. */
    private static final Thread STRANGER = new Thread(() -> {});
    private static final ExecutorService THREADS = Executors.newCachedThreadPool(Keeper::thread);
    private static final ThreadLocal<Keeper> OWN = new ThreadLocal<>();
    private static final MemorySegment WAIT = callback();
    private static final MethodHandle HOLD = hold();
    /** Those that keep an arena open now. */
    private static final Map<MemorySegment.Scope, Keeper> KEEPERS = new HashMap<>();

    private final MemorySegment memory;
    private final Semaphore begun = new Semaphore(0);
    private final Semaphore over = new Semaphore(0);
    private final Semaphore ended = new Semaphore(0);
    /** Whether the arena was open when it began to keep it so. */
    private volatile boolean keeps;
    /** Calls that use it; guarded by {@link #KEEPERS}. */
    private int users;

    private Keeper(MemorySegment memory) {
        this.memory = memory;
    }

    /** Whether somebody can close what the segment lies in. */
    static boolean isNeeded(MemorySegment memory) {
        Class<?> scope = memory.scope().getClass();
        return memory.isNative() && scope != GLOBAL && scope != AUTOMATIC;
    }

    /** Whether the segment is one thread's alone: no other keeps it open. */
    static boolean isConfined(MemorySegment memory) {
        return !memory.isAccessibleBy(STRANGER);
    }

    /** Keeps the arena of a segment open until {@link #release}; null if it is closed. */
    static Keeper of(MemorySegment memory) {
        synchronized (KEEPERS) {
            Keeper keeper = KEEPERS.get(memory.scope());
            if (keeper == null) {
                keeper = new Keeper(memory);
                THREADS.execute(keeper::keep);
                keeper.begun.acquireUninterruptibly();
                if (!keeper.keeps) {
                    return null;
                }
                KEEPERS.put(memory.scope(), keeper);
            }
            keeper.users++;
            return keeper;
        }
    }

    /** One call does not use it any more. After the last one the arena can be closed at once. */
    void release() {
        synchronized (KEEPERS) {
            if (--users > 0) {
                return;
            }
            KEEPERS.remove(memory.scope());
        }
        over.release();
        ended.acquireUninterruptibly();
    }

    private void keep() {
        OWN.set(this);
        try {
            // Compares with the one element that there is: the address of the callback itself, as
            // good as any.
            long found = (long) HOLD.invokeExact(memory, WAIT.address(), 1L, 1L, WAIT.address());
        } catch (Throwable error) {
            // The arena is closed.
            begun.release();
        } finally {
            OWN.remove();
            ended.release();
        }
    }

    /** What `bsearch` calls, in the thread of a keeper. */
    private static int await(long key, long element) {
        Keeper keeper = OWN.get();
        keeper.keeps = true;
        keeper.begun.release();
        keeper.over.acquireUninterruptibly();
        return 0;
    }

    private static MemorySegment callback() {
        try {
            MethodType type = MethodType.methodType(int.class, long.class, long.class);
            MethodHandle await = MethodHandles.lookup().findStatic(Keeper.class, "await", type);
            return Linker.nativeLinker().upcallStub(
                await, FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG), Arena.global());
        } catch (ReflectiveOperationException error) {
            throw new AssertionError("Keeper.await is a method of this client", error);
        }
    }

    private static MethodHandle hold() {
        Linker linker = Linker.nativeLinker();
        FunctionDescriptor descriptor =
            FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
        MemorySegment function = linker.defaultLookup().find("bsearch").orElseThrow(
            () -> new AssertionError("every C library has bsearch"));
        return linker.downcallHandle(function, descriptor);
    }

    private static Thread thread(Runnable work) {
        return Thread.ofPlatform().daemon().name("farcall arena").unstarted(work);
    }
}
