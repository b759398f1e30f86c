//! What plugins and transports offer one another: streams, memory, directory, spawner.
