"""The papers' agents as loops over trials, for one session: the logit of choice 1 (two arms) after each trial."""


def q_learner(trials, learning, forgetting, beta):
    values, found = [0.0, 0.0], []
    for choice, _, _, reward in trials:
        values[choice] = (1 - learning) * values[choice] + learning * reward
        values[1 - choice] = (1 - forgetting) * values[1 - choice]
        found.append(beta * (values[1] - values[0]))
    return found


def persevering_q_learner(trials, learning, forgetting, beta, decay, weight):
    trace, found = [0.0, 0.0], []
    for (choice, *_), logit in zip(trials, q_learner(trials, learning, forgetting, beta), strict=True):
        trace = [(1 - decay) * trace[arm] + decay * (arm == choice) for arm in (0, 1)]
        found.append(logit + weight * (trace[1] - trace[0]))
    return found


def rflr(trials, forgetting, alpha, beta):
    """Beron et al. 2022, equation 3: choices as -1 and 1."""
    phi, found = 0.0, []
    for choice, _, _, reward in trials:
        sign = 2 * choice - 1
        phi = (1 - forgetting) * phi + beta * sign * reward
        found.append(alpha * sign + phi)
    return found


def bayesian_observer(trials, hazard, likelihood, beta):
    """Forward probabilities of a hidden Markov model with two states."""
    forward, found = [0.5, 0.5], []
    for choice, _, _, reward in trials:
        hit = [likelihood if (arm == choice) == (reward > 0) else 1 - likelihood for arm in (0, 1)]
        total = hit[0] * forward[0] + hit[1] * forward[1]
        after = [hit[arm] * forward[arm] / total for arm in (0, 1)]
        forward = [(1 - hazard) * after[arm] + hazard * after[1 - arm] for arm in (0, 1)]
        found.append(beta * (forward[1] - forward[0]))
    return found


def hybrid(trials, first, second, eligibility, based, free, stickiness):
    """Daw et al. 2011, supplement: SARSA(lambda) at both stages, planning over the known transitions."""
    q1, q2, found = [0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]], []
    for choice, state, arm, reward in trials:
        at_state, at_end = q2[state][arm] - q1[choice], reward - q2[state][arm]
        q1[choice] += first * at_state + first * eligibility * at_end
        q2[state][arm] += second * at_end
        plan = [0.7 * max(q2[stage]) + 0.3 * max(q2[1 - stage]) for stage in (0, 1)]
        sign = 2 * choice - 1
        found.append(based * (plan[1] - plan[0]) + free * (q1[1] - q1[0]) + stickiness * sign)
    return found


ORACLES = {
    "Q-learner": q_learner,
    "persevering Q-learner": persevering_q_learner,
    "RFLR": rflr,
    "Bayesian observer": bayesian_observer,
    "hybrid": hybrid,
}
