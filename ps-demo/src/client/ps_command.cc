// ps_command: sends one command to a running server and prints its answer.
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <map>
#include <string>

#include "ps.grpc.pb.h"

namespace {

constexpr char kUsage[] =
    "usage: ps_command HOST:PORT ready | stats | quit\n"
    "       ps_command HOST:PORT fault_on NAME[:k=v,...] | fault_off NAME\n"
    "       ps_command HOST:PORT checkpoint FILE_NAME\n";

const std::map<std::string, psdemo::CommandRequest::Kind> kCommands = {
    {"ready", psdemo::CommandRequest::READY},         {"stats", psdemo::CommandRequest::STATS},
    {"quit", psdemo::CommandRequest::QUIT},           {"fault_on", psdemo::CommandRequest::FAULT_ON},
    {"fault_off", psdemo::CommandRequest::FAULT_OFF}, {"checkpoint", psdemo::CommandRequest::CHECKPOINT}};

}  // namespace

int main(int argc, char** argv) {
  const auto command = argc >= 3 ? kCommands.find(argv[2]) : kCommands.end();
  if (command == kCommands.end() || argc > 4) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const auto stub = psdemo::ParameterServer::NewStub(grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  psdemo::CommandRequest request;
  request.set_kind(command->second);
  if (argc == 4) request.set_argument(argv[3]);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  psdemo::CommandReply reply;
  const grpc::Status status = stub->Command(&context, request, &reply);
  if (!status.ok()) {
    std::fprintf(stderr, "error: server %s: %s\n", argv[1], status.error_message().c_str());
    return 1;
  }
  std::printf("%s\n", reply.text().c_str());
  return 0;
}
