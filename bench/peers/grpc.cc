/* gRPC C++ as a peer: a synchronous server; a client that calls one by one, or many over a completion queue.
 *
 * Usage: grpc serve              prints `port N`
 *        grpc call PORT          reads commands (commands.h)
 * An array is a field of bytes. The server moves it from the request to the answer; the client leaves the result in the
 * message: copies beyond those that the library itself makes are not charged.
 */
#include "commands.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "grpc.grpc.pb.h"

namespace {

std::unique_ptr<peers::Bench::Stub> connection;
std::unique_ptr<peers::Array> result;

class Service final : public peers::Bench::Service {
    grpc::Status Add(grpc::ServerContext *, const peers::Pair *pair, peers::Sum *sum) override
    {
        sum->set_z(pair->x() + pair->y());
        return grpc::Status::OK;
    }

    grpc::Status Touch(grpc::ServerContext *, const peers::Array *in, peers::Array *out) override
    {
        // The request dies with the call, so its bytes may move.
        out->mutable_elements()->swap(*const_cast<peers::Array *>(in)->mutable_elements());
        return grpc::Status::OK;
    }
};

int serve()
{
    Service service;
    grpc::ServerBuilder builder;
    int port = 0;

    end_with_parent();
    builder.SetMaxReceiveMessageSize(-1);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (server == nullptr)
        return 1;
    std::printf("port %d\n", port);
    std::fflush(stdout);
    server->Wait();
    return 0;
}

const double *roundtrip(double *array, size_t bytes)
{
    grpc::ClientContext context;
    peers::Array request;

    result = std::make_unique<peers::Array>();
    request.set_elements(array, bytes);
    if (!connection->Touch(&context, request, result.get()).ok() || result->elements().size() != bytes)
        return nullptr;
    return reinterpret_cast<const double *>(result->elements().data());
}

void release()
{
    result.reset();
}

peers::Pair numbers(int number)
{
    peers::Pair pair;
    pair.set_x(number);
    pair.set_y(1);
    return pair;
}

double pingpong(int calls)
{
    double begin = now();
    for (int i = 0; i < calls; i++) {
        grpc::ClientContext context;
        peers::Sum sum;
        if (!connection->Add(&context, numbers(i), &sum).ok() || sum.z() != i + 1)
            return -1;
    }
    return (now() - begin) / calls;
}

struct Call {
    grpc::ClientContext context;
    peers::Sum sum;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<peers::Sum>> reader;
};

void start_call(grpc::CompletionQueue *queue, int number)
{
    Call *call = new Call;
    call->reader = connection->AsyncAdd(&call->context, numbers(number), queue);
    call->reader->Finish(&call->sum, &call->status, call);
}

/* Whichever call is over first makes room for the next; gRPC does not keep them in order. */
double pipeline(int calls, int depth)
{
    grpc::CompletionQueue queue;
    double begin = now();
    int started = 0;
    for (; started < depth && started < calls; started++)
        start_call(&queue, started);
    for (int finished = 0; finished < calls; finished++) {
        void *tag;
        bool is_good;
        if (!queue.Next(&tag, &is_good))
            return -1;
        std::unique_ptr<Call> call(static_cast<Call *>(tag));
        if (!is_good || !call->status.ok())
            return -1;
        if (started < calls)
            start_call(&queue, started++);
    }
    return calls / (now() - begin);
}

} // namespace

int main(int argc, char **argv)
{
    const struct client client = {nullptr, roundtrip, release, pingpong, pipeline};

    if (argc == 2 && std::strcmp(argv[1], "serve") == 0)
        return serve();
    if (argc != 3)
        return 2;
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    std::string address = std::string("127.0.0.1:") + argv[2];
    connection = peers::Bench::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    return answer(&client);
}
