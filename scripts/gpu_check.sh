#!/usr/bin/env bash
# Builds pyharness on a machine with a GPU, checks it there, and leaves tables and a summary.
#
#   scripts/gpu_check.sh [FOLDER]     default: results/gpu-check/NAME-OF-THE-GPU
#
# No network is needed. Each step has a time limit; a step that fails does not stop the others, and
# the exit code is 1 then. 2: nothing could be checked, no GPU or a folder in use.
#
#   PYHARNESS_CHECK_PYTHON       Python with the packages (default python3)
#   PYHARNESS_CHECK_INSTALLED=1  that Python has pyharness already: nothing is built
#   PYHARNESS_CHECK_CUDNN        release to check (default installed)
#   PYHARNESS_CHECK_PEER_DEVICE  where PyTorch runs: cuda or cpu (default cuda)
#   PYHARNESS_CHECK_SECONDS      time for everything together (default 560)
#   PYHARNESS_CHECK_SIZE=short   a part of each step
#   PYHARNESS_CHECK_STEPS        the steps to take (default: build tests doctor stages bench deepbench
#                                memory repeat accuracy check soak upgrade)
#   PYHARNESS_LIBCUDA            another libcuda
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
python=$(command -v -- "${PYHARNESS_CHECK_PYTHON:-python3}") || {
  echo "error: there is no ${PYHARNESS_CHECK_PYTHON:-python3}: name a Python by PYHARNESS_CHECK_PYTHON" >&2
  exit 2
}
cudnn=${PYHARNESS_CHECK_CUDNN:-installed}
peer_device=${PYHARNESS_CHECK_PEER_DEVICE:-cuda}
total=${PYHARNESS_CHECK_SECONDS:-560}
size=${PYHARNESS_CHECK_SIZE:-full}
steps=${PYHARNESS_CHECK_STEPS:-build tests doctor stages bench deepbench memory repeat accuracy check soak upgrade}
export PYHARNESS_CHECK_CUDNN=$cudnn PYHARNESS_CHECK_SIZE=$size

# What each step takes.
case $size in
  full)
    tests=()
    smoke=(--preset smoke --least-samples 20 --least-time 0.05 --most-time 0.2)
    deep='deepbench/training-vanilla-*-16-50,training-lstm-*-16-25,training-gru-512-32-1'
    deep+=',training-gru-1536-32-187,server-lstm-*-1-*,device-*'
    part=(--preset "$deep" --least-samples 10 --least-time 0.05 --most-time 0.3)
    weighed=(--preset smoke)
    looked=(--preset smoke)
    runs=20
    raised=(--problems smoke/cells-lstm-float --budget 45s)
    soaked=(--preset smoke --minutes 0.5)
    ;;
  short)
    tests=(-k 'standard or random or padding or timed')
    smoke=(--preset 'smoke/cells-lstm-float' --axis hidden_size=32 --axis max_seq_length=4)
    smoke+=(--least-samples 3 --least-time 0 --most-time 0.02)
    part=(--preset 'deepbench/server-lstm-256-1-150' --least-samples 3 --least-time 0)
    part+=(--most-time 0.02)
    weighed=(--preset 'smoke/cells-*')
    looked=(--preset 'smoke/cells-lstm-float' --axis hidden_size=8 --axis max_seq_length=4)
    looked+=(--axis batch_size=2)
    runs=2
    raised=(--problems 'smoke/cells-lstm-float hidden_size=8 max_seq_length=4 batch_size=2')
    raised+=(--budget 40s)
    soaked=("${looked[@]}" --cycles 100)
    ;;
  *)
    echo "error: PYHARNESS_CHECK_SIZE is $size: full or short" >&2
    exit 2
    ;;
esac

summary() { "$python" "$root/scripts/gpu_summary.py" "$@"; }

card=$(timeout 60 "$python" "$root/scripts/gpu_summary.py" card) || exit 2
folder=$(realpath -m -- "${1:-$root/results/gpu-check/$card}")
if [[ -e $folder/steps.tsv ]]; then
  echo "error: $folder holds a check already: give another folder, or remove it" >&2
  exit 2
fi
mkdir -p -- "$folder/logs"
printf 'name\tcode\tseconds\tlimit\n' >"$folder/steps.tsv"
echo "$card, cuDNN $cudnn, at most $total s; tables in $folder"

# step NAME LIMIT COMMAND…: runs a command within its limit and what is left of the whole.
step() {
  local name=$1 limit=$2 code=0 began=$SECONDS
  shift 2
  [[ " $steps " == *" $name "* ]] || return 0
  ((limit <= total - SECONDS)) || limit=$((total - SECONDS))
  if ((limit < 2)); then
    printf '%-12s no time left\n' "$name"
    printf '%s\tnot run\t0\t0\n' "$name" >>"$folder/steps.tsv"
    return
  fi
  printf '%-12s at most %3d s ... ' "$name" "$limit"
  # An interrupted command keeps the tables that it has.
  timeout --signal=INT --kill-after=10 "$limit" "$@" >"$folder/logs/$name.txt" 2>&1 </dev/null ||
    code=$?
  printf '%3d s, ' "$((SECONDS - began))"
  case $code in
    0) echo ended ;;
    124 | 137) echo "out of time" ;;
    *) echo "failed, exit $code:" && tail -n 5 -- "$folder/logs/$name.txt" ;;
  esac
  printf '%s\t%s\t%s\t%s\n' "$name" "$code" "$((SECONDS - began))" "$limit" >>"$folder/steps.tsv"
}

# Called by bash -c below: an environment of our own that sees the packages of $python, also where that is one itself.
# shellcheck disable=SC2317
build() {
  local venv=$root/build/gpu-check/venv
  "$python" -m venv --clear --without-pip "$venv"
  "$python" - "$venv" <<'SEE'
import sys, sysconfig
folders = [p for p in sys.path if p.endswith(("site-packages", "dist-packages"))]
purelib = sysconfig.get_path("purelib", vars={"base": sys.argv[1]})
with open(f"{purelib}/packages-of-the-machine.pth", "w") as file:
    file.writelines(f"import site; site.addsitedir({p!r})\n" for p in folders)
SEE
  "$venv/bin/python" -m pip install --no-index --no-deps --no-build-isolation \
    --config-settings=build-dir="$root/build/gpu-check/{wheel_tag}" --editable "$root"
}

if [[ -z ${PYHARNESS_CHECK_INSTALLED:-} ]]; then
  export -f build
  export root python
  step build 110 bash -euc build
  python=$root/build/gpu-check/venv/bin/python
fi
pyharness=("$python" -m pyharness.cli.main)

# Not from the folder of the sources: the pyharness there has no compiled part.
cd -- "$folder"

# The plain settings: what the machine lacks of pytest's plugins is no error, nor is a warning.
step tests 110 "$python" -m pytest "$root/tests/gpu" --rootdir "$root" -m gpu -q -ra \
  -p no:cacheprovider -W default -o addopts=--import-mode=importlib \
  --junitxml="$folder/tests.xml" "${tests[@]}"
step doctor 30 "${pyharness[@]}" doctor
step stages 45 "${pyharness[@]}" map --stages all --preset smoke --cudnn "$cudnn" \
  --timeout 30 --out "$folder/stages"
step bench 120 "${pyharness[@]}" bench --cudnn "$cudnn" --peer torch --peer-device "$peer_device" \
  "${smoke[@]}" --precision 0.01 --timeout 30 --out "$folder/bench"
step deepbench 60 "${pyharness[@]}" bench --cudnn "$cudnn" "${part[@]}" --modes hot,graph \
  --precision 0.01 --timeout 30 --out "$folder/deepbench"
step memory 20 "${pyharness[@]}" memory --cudnn "$cudnn" "${weighed[@]}" --out "$folder/memory"
# What is not repeatable, beyond or violated is a finding of the tables: only a defect fails a step.
step repeat 60 "${pyharness[@]}" determinism --cudnn "$cudnn" "${looked[@]}" --runs "$runs" \
  --timeout 30 --out "$folder/repeat"
step accuracy 30 "${pyharness[@]}" accuracy --cudnn "$cudnn" "${looked[@]}" --timeout 30 \
  --out "$folder/accuracy"
step check 60 "${pyharness[@]}" check --cudnn "$cudnn" "${looked[@]}" --timeout 30 \
  --out "$folder/check"
step soak 60 "${pyharness[@]}" soak --cudnn "$cudnn" "${soaked[@]}" --timeout 30 \
  --out "$folder/soak"
# To the same release, which is the same: what is told otherwise is a finding, and the budget may end.
printf '%s = "none"\n' validity.newly_{refused,failed,out_of_memory} validity.call_removed \
  time.{slower,inconclusive} memory.grown repeatability.lost accuracy.worse >"$folder/gate.toml"
step upgrade 160 "${pyharness[@]}" upgrade "$cudnn" "$cudnn" --preset clip "${raised[@]}" \
  --gate "$folder/gate.toml" --timeout 30 --maps "$folder/maps" --out "$folder/upgrade"

code=0
summary write "$folder" || code=1
echo "took $SECONDS s; $folder/SUMMARY.md"
exit "$code"
