"""Proposes the cells of search.jobrun.yaml by Optuna (pip install optuna)."""
import json
import sys

import optuna

SPACE = {"vars.lr": optuna.distributions.FloatDistribution(1e-4, 1, log=True),
         "vars.layers": optuna.distributions.IntDistribution(1, 4)}
TRIALS = 20
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
asked = {}  # trials, by the numbers of their cells


def tell(cell, values, status, result):
    good = status == "succeeded"
    if cell in asked:
        study.tell(asked.pop(cell), result["loss"] if good else None,
                   state=None if good else optuna.trial.TrialState.FAIL)
    elif good:  # of the sweep that is gone on with
        study.add_trial(optuna.trial.create_trial(
            params=values, distributions=SPACE, value=result["loss"]))


for line in map(json.loads, sys.stdin):
    if "tell" in line:
        tell(line["tell"], line["values"], line["status"], line["result"])
    elif len(study.trials) >= TRIALS:
        print('{"done": true}', flush=True)
    else:
        asked[line["ask"]] = trial = study.ask(SPACE)
        print(json.dumps({"values": trial.params}), flush=True)
