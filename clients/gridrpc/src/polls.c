/* The functions by which a routine asks whether it was cancelled, under the names that code has which declares
 * them itself. */

int farcall_grpc_is_canceled_np(int *error);
int farcall_ngexIsCanceled(int *error);
int farcall_ngstb_is_canceled(void);

int grpc_is_canceled_np(int *error)
{
    return farcall_grpc_is_canceled_np(error);
}

int ngexIsCanceled(int *error)
{
    return farcall_ngexIsCanceled(error);
}

int ngstb_is_canceled(void)
{
    return farcall_ngstb_is_canceled();
}
