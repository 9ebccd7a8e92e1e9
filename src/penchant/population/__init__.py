"""Many subjects: performance categories, population estimates, tests between groups."""

from penchant.population.adjusting import adjusted_p_values
from penchant.population.compare import compare_groups
from penchant.population.comparison import GroupComparison
from penchant.population.estimate import PopulationEstimate, PopulationEstimates
from penchant.population.growth import growth_order, growth_orders
from penchant.population.growth_order import GrowthOrder, GrowthOrders
from penchant.population.joint import pool_jointly
from penchant.population.mapping_back import back_map
from penchant.population.pool import pool, pool_each
from penchant.population.subjects import SubjectEstimates, subject_estimates

__all__ = [
    "GroupComparison",
    "GrowthOrder",
    "GrowthOrders",
    "PopulationEstimate",
    "PopulationEstimates",
    "SubjectEstimates",
    "adjusted_p_values",
    "back_map",
    "compare_groups",
    "growth_order",
    "growth_orders",
    "pool",
    "pool_each",
    "pool_jointly",
    "subject_estimates",
]
