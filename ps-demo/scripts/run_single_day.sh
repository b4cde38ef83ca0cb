#!/bin/bash
# Trains on one "day" of generated clicks: starts a parameter server unless one listens already, trains, prints the time,
# and stops only what it started.
set -euo pipefail
cd "$(dirname "$0")/.."

python=/usr/bin/python3
ps_address=127.0.0.1:15000
dataset_size=16384
epochs=1
batch_size=256
learning_rate=0.1
random_dataset=no
prefetch=no
prefetch_depth=2
fuse_k=1
trace_file=""
ready_timeout_s=30

usage() {
    cat <<END
usage: run_single_day.sh [option]...
  --dataset-size N       samples (default $dataset_size)
  --epochs E             passes over them (default $epochs)
  --batch-size N         (default $batch_size)
  --learning-rate R      of the dense model (default $learning_rate)
  --random-dataset       labels are coin flips, so the loss stays near 0.69
  --ps-address H:P       where the parameter server is or will be (default $ps_address)
  --enable-prefetch | --disable-prefetch   reads on the C++ thread ps-io (default: disabled)
  --prefetch-depth N     reads in flight (default $prefetch_depth)
  --fuse-k K             batches whose reads share one request (default $fuse_k)
  --trace-file FILE      write the steps as a trace
  --custom, --ps         accepted: embeddings always come from the parameter server, through the custom op
  --torchrec             refused
With CPUPROFILE=FILE in the environment, LD_PRELOAD=libprofiler.so.0 profiles the trainer as usual.
END
}

usage_error() {
    echo "error: $1" >&2
    echo "help:  $0 --help" >&2
    exit 2
}

need_value() {
    [ $# -ge 2 ] || usage_error "$1 needs a value"
}

while [ $# -gt 0 ]; do
    case "$1" in
        --custom | --ps) ;;
        --dataset-size) need_value "$@"; dataset_size=$2; shift ;;
        --epochs) need_value "$@"; epochs=$2; shift ;;
        --batch-size) need_value "$@"; batch_size=$2; shift ;;
        --learning-rate) need_value "$@"; learning_rate=$2; shift ;;
        --random-dataset) random_dataset=yes ;;
        --ps-address) need_value "$@"; ps_address=$2; shift ;;
        --enable-prefetch) prefetch=yes ;;
        --disable-prefetch) prefetch=no ;;
        --prefetch-depth) need_value "$@"; prefetch_depth=$2; shift ;;
        --fuse-k) need_value "$@"; fuse_k=$2; shift ;;
        --trace-file) need_value "$@"; trace_file=$2; shift ;;
        --torchrec) usage_error "--torchrec: TorchRec needs CUDA-built torch and FBGEMM, which this demo does without" ;;
        --help | -h) usage; exit 0 ;;
        *) usage_error "unknown option '$1'" ;;
    esac
    shift
done

for number in "$dataset_size" "$epochs" "$batch_size" "$prefetch_depth" "$fuse_k"; do
    [[ "$number" =~ ^[1-9][0-9]*$ ]] || usage_error "'$number' is not a whole number over 0"
done
steps=$((dataset_size / batch_size * epochs))
[ "$steps" -gt 0 ] || usage_error "--batch-size $batch_size is over --dataset-size $dataset_size"

build_dir=${PSDEMO_BUILD_DIR:-$PWD/build}
"$python" -m ps_demo build >&2

echo "configuration: dataset_size=$dataset_size epochs=$epochs batch_size=$batch_size steps=$steps" \
    "learning_rate=$learning_rate random_dataset=$random_dataset prefetch=$prefetch prefetch_depth=$prefetch_depth" \
    "fuse_k=$fuse_k ps=$ps_address"

server_pid=""
stop_server() {
    if [ -n "$server_pid" ]; then
        kill "$server_pid" 2>/dev/null || true
        wait "$server_pid" 2>/dev/null || true
        echo "stopped the parameter server (pid $server_pid)"
    fi
}
trap stop_server EXIT

listens() {
    (exec 3<>"/dev/tcp/${ps_address%:*}/${ps_address##*:}") 2>/dev/null
}

if listens; then
    echo "using the parameter server that listens on $ps_address"
else
    exec {server_output}< <(exec "$build_dir/ps_server" --address "$ps_address" 2>&1)
    server_pid=$!
    if ! IFS= read -r -t "$ready_timeout_s" ready <&"$server_output" || [[ "$ready" != "PS ready"* ]]; then
        echo "error: the parameter server did not start: ${ready:-no output within $ready_timeout_s s}" >&2
        exit 1
    fi
    echo "started a parameter server: $ready"
fi

trainer=("$python" -m ps_demo trainer --op-library "$build_dir/libpsdemo_op.so" --servers "$ps_address"
    --steps "$steps" --dataset-size "$dataset_size" --batch-size "$batch_size" --learning-rate "$learning_rate"
    --prefetch-depth "$prefetch_depth" --fuse-k "$fuse_k")
[ "$random_dataset" = no ] || trainer+=(--random-dataset)
[ "$prefetch" = no ] || trainer+=(--prefetch)
[ -z "$trace_file" ] || trainer+=(--trace-file "$trace_file")

export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1} OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
"${trainer[@]}"
