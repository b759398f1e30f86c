// Keys of the properties that say which server a handle is to go to.
package org.apgrid.grpc.ng;

import java.util.Properties;

/** Keys of handles' properties: the names that the configuration file has for the same. */
public class NgGrpcHandleAttr {
    /** The tag, host name or address of a server. */
    public static final String KEY_HOSTNAME = "hostname";
    /** Its port. */
    public static final String KEY_PORT = "port";
    /** The function or class; what the handle is asked for counts. */
    public static final String KEY_CLASSNAME = "className";
    /** Seconds that its process has to start. */
    public static final String KEY_STARTTIMEOUT = "job_startTimeout";
    /** Seconds that its process has to end. */
    public static final String KEY_STOPTIMEOUT = "job_stopTimeout";
    /** Processes that MPI is to start. */
    public static final String KEY_MPI_NCPUS = "mpi_runNoOfCPUs";
    /** The queue of a batch system. */
    public static final String KEY_QUEUENAME = "job_queue";
    /** The job manager. */
    public static final String KEY_JOBMANAGER = "jobmanager";
    /** The subject of a certificate. */
    public static final String KEY_SUBJECT = "subject";

    /** Has only constants. */
    public NgGrpcHandleAttr() {}

    /** The same properties, in which the number of processes is one for all functions. */
    public static Properties convertNumOfCPUs(Properties attributes) {
        Properties ofAll = new Properties();
        ofAll.put("", attributes.get(KEY_MPI_NCPUS));
        attributes.put(KEY_MPI_NCPUS, ofAll);
        return attributes;
    }
}
