"""What an embedding model makes of texts that have nothing to do with each other: closeness is measured against it.

Models differ in how alike all their vectors are (two strangers have a cosine of 0.80 by one model, of 0.05 by another).
Seen from the average of these texts, in the unit of their own spread, likeness means the same for each model and list.
"""

import math
from dataclasses import dataclass

import numpy as np

from ricordo.models.embedding_models import Vectors

TEXTS = (
    "The meeting was moved to Thursday afternoon.",
    "A good soup needs onions, carrots and time.",
    "The library closes at six on Saturdays.",
    "Water boils at a lower temperature in the mountains.",
    "She bought a new lamp for the kitchen.",
    "How long does the train to the coast take?",
    "Please send me the report by Friday.",
    "The river flooded the lower part of the town.",
    "Install the package and restart the server.",
    "What is the difference between the two contracts?",
    "Il treno per la costa parte alle otto.",
    "Mia sorella studia chimica all'università.",
    "Il prezzo del grano è salito ancora.",
    "Come si monta questa mensola?",
    "Der Bericht muss bis Freitag fertig sein.",
    "Im Garten blühen die ersten Tulpen.",
    "Wie lange ist die Garantie gültig?",
    "Le conseil a voté le nouveau budget.",
    "Mon voisin répare de vieilles horloges.",
    "Quel temps fera-t-il demain ?",
    "El museo abre a las diez de la mañana.",
    "Mi hermano vende muebles usados.",
    "¿Cuánto cuesta enviar un paquete?",
    "会议改到星期四下午。",
    "这本书讲的是古代的桥梁。",
    "我需要换一个新的灯泡。",
    "Поезд опаздывает на двадцать минут.",
    "来週の会議の資料を準備してください。",
    "The function returns a list of integers.",
    "Bees find their way home by the sun.",
    "The bank raised its interest rate in June.",
    "We painted the fence before the rain came.",
)
"""Of many kinds and languages, no two about the same."""


@dataclass(frozen=True)
class Background:
    """A model's vectors of strangers."""

    centre: Vectors
    """Their average, shape (dims,)."""
    spread: float
    """How far the cosines of two of them, seen from the centre, lie around their average."""

    @classmethod
    def of(cls, vectors: Vectors) -> "Background":
        """Take it from the vectors of `TEXTS`, of unit length."""
        centre = vectors.mean(axis=0)
        beyond = vectors - centre
        beyond /= np.maximum(np.linalg.norm(beyond, axis=1, keepdims=True), 1e-9)
        cosines = (beyond @ beyond.T)[np.triu_indices(len(vectors), 1)]
        return cls(centre, max(float(cosines.std()), 1e-3))

    def likeness(self, query: Vectors, with_query: float, with_centre: float) -> float:
        """Return how alike a question and a unit are, in spreads: strangers have about 0.

        Args:
            query: The question's vector, of unit length.
            with_query: The unit's inner product with it.
            with_centre: The unit's inner product with the centre.
        """
        own = float(self.centre @ self.centre)
        asked = float(query @ self.centre)
        inner = with_query - asked - with_centre + own
        lengths = (1 - 2 * asked + own) * (1 - 2 * with_centre + own)
        return inner / math.sqrt(max(lengths, 1e-9)) / self.spread
