"""Measures of annotation and of ranking, counted one picture and one keyword at a time."""


def top_k(scores, k):
    """Take the best remaining label k times; the first of equals."""
    rows = []
    for row in scores:
        taken = [False] * len(row)
        for _ in range(min(k, len(row))):
            best = None
            for label, score in enumerate(row):
                if not taken[label] and (best is None or score > row[best]):
                    best = label
            taken[best] = True
        rows.append(taken)
    return rows


def counts(predicted, truth):
    """Hits, predictions and positives of two sequences of 0 / 1."""
    hits = predictions = positives = 0
    for p, t in zip(predicted, truth, strict=True):
        hits += 1 if p and t else 0
        predictions += 1 if p else 0
        positives += 1 if t else 0
    return hits, predictions, positives


def columns(matrix):
    return [[row[label] for row in matrix] for label in range(len(matrix[0]))]


def annotation_scores(predicted, truth):
    """(recall, precision, n_plus, f1), keyword by keyword."""
    recalls, precisions, n_plus = [], [], 0
    for column, true in zip(columns(predicted), columns(truth), strict=True):
        hits, predictions, positives = counts(column, true)
        if positives == 0:
            continue
        recalls.append(hits / positives)
        precisions.append(hits / predictions if predictions else 0.0)
        if hits:
            n_plus += 1
    recall, precision = 100 * mean(recalls), 100 * mean(precisions)
    return recall, precision, n_plus, harmonic_mean(recall, precision)


def average_precision(scores, relevant):
    """Mean over relevant items of the precision among the items that score no less; None if there are none."""
    precisions = []
    for score, is_relevant in zip(scores, relevant, strict=True):
        if is_relevant:
            above = [r for s, r in zip(scores, relevant, strict=True) if s >= score]
            precisions.append(sum(1 for r in above if r) / len(above))
    return mean(precisions) if precisions else None


def mean_average_precision(scores, truth, over):
    if over == "concepts":
        scores, truth = columns(scores), columns(truth)
    values = [average_precision(s, t) for s, t in zip(scores, truth, strict=True)]
    return 100 * mean([value for value in values if value is not None])


def f_measure(predicted, truth):
    hits, predictions, positives = counts(predicted, truth)
    if not predictions or not positives:
        return 0.0
    return harmonic_mean(hits / positives, hits / predictions)


def mf_samples(predicted, truth):
    return 100 * mean([f_measure(p, t) for p, t in zip(predicted, truth, strict=True)])


def mf_concepts(predicted, truth):
    pairs = zip(columns(predicted), columns(truth), strict=True)
    return 100 * mean([f_measure(p, t) for p, t in pairs if any(t)])


def harmonic_mean(a, b):
    return 2 * a * b / (a + b) if a + b else 0.0


def mean(values):
    return sum(values) / len(values)
