// Objects of a server's class that were made together.
package org.farcall;

import java.util.Iterator;
import java.util.List;

/** Objects that {@link Server#objects} has made by one request. They end together. */
public final class RemoteObjects implements AutoCloseable, Iterable<RemoteObject> {
    private final List<RemoteObject> objects;

    RemoteObjects(RemoteObject[] objects) {
        this.objects = List.of(objects);
    }

    /** How many there are. */
    public int size() {
        return objects.size();
    }

    /** One of them, from 0. */
    public RemoteObject get(int index) {
        return objects.get(index);
    }

    @Override
    public Iterator<RemoteObject> iterator() {
        return objects.iterator();
    }

    /** Ends them, and calls under way on them. What goes wrong in a `_finalize` is thrown; they
     * have ended all the same. */
    @Override
    public void close() {
        objects.forEach(RemoteObject::close);
    }
}
