"""Runs search.jobrun.yaml with values that Optuna chooses (pip install optuna)."""
import os
import sys

import jobrun
import optuna

SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "search.jobrun.yaml")


def loss(trial):
    record = jobrun.run(SPEC, {
        "vars.lr": trial.suggest_float("lr", 1e-4, 1, log=True),
        "vars.layers": trial.suggest_int("layers", 1, 4)})
    if record["status"] != "succeeded":
        return float("nan")  # Optuna counts it as failed
    return record["ranks"][0]["result"]["loss"]


study = optuna.create_study(
    sampler=optuna.samplers.TPESampler(seed=0), study_name="search",
    storage="sqlite:///search.db", load_if_exists=True)  # a second call goes on
study.optimize(loss, n_trials=int(sys.argv[1]) if len(sys.argv) > 1 else 20, n_jobs=2)
print(len(study.trials), "runs, the best with", study.best_params)
