#!/usr/bin/env bash
# Makes every picture of docs/viz.md, from commands alone; a run that is there is used again.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${RUNS:-runs/gallery} out=docs/_static/gallery hypergraph=${HYPERGRAPH:-.venv/bin/hypergraph}
mkdir -p "$out"
train() { test -e "$runs/$1/result.json" || $hypergraph node-clf "${@:2}" --seeds 1 --out "$runs/$1"; }
train cora --dataset cora --head bmlr-p
train disease-bmlr --dataset disease --head bmlr-p --dim 2
train disease-pmlr --dataset disease --head pmlr --dim 2

$hypergraph plot horospheres --out "$out/horospheres.png"
$hypergraph plot hyperplanes --out "$out/hyperplanes.png"
$hypergraph plot embedding "$runs/cora" --out "$out/embedding.png"
$hypergraph plot regions "$runs/disease-bmlr" --out "$out/regions.png"
$hypergraph plot regions "$runs/cora" --out "$out/section.png"
$hypergraph plot tree disease --out "$out/tree.png"
$hypergraph plot curves "$runs/disease-bmlr" "$runs/disease-pmlr" --name bmlr-p --name pmlr --out "$out/curves.png"
$hypergraph plot delta cora --time-limit 60 --out "$out/delta.png"
