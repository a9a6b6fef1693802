-- Estimates from the table that `halfmask aggregate LAKE --offer offer.json -o cells.parquet` writes.
--
--   .read estimates.sql
--   CREATE TABLE cells AS FROM 'cells.parquet';
--   FROM halfmask_estimates('cells') ORDER BY campaign, period;
--
-- A period of fewer producers than the campaign publishes has no estimate. The standard error is that of the noise.
-- low and high hold the true sum of the shared readings in 95 of 100 periods; they take the sum of the noise for normal.
CREATE OR REPLACE MACRO halfmask_estimates(cells) AS TABLE
WITH totals AS (
    SELECT
        campaign, period,
        any_value(unit) AS unit,
        sum(reports)::BIGINT AS reports,
        sum(producers)::BIGINT AS producers,
        sum(producers) >= any_value(least_producers) AS shown,
        sum(sum_steps) * any_value(step) AS estimate,
        sqrt(sum(reports * noise_variance)) * any_value(step) AS standard_error
    FROM query_table(cells)
    GROUP BY campaign, period
)
SELECT
    campaign, period, unit,
    CASE WHEN shown THEN reports END AS reports,
    CASE WHEN shown THEN producers END AS producers,
    CASE WHEN shown THEN estimate END AS estimate,
    CASE WHEN shown THEN standard_error END AS standard_error,
    CASE WHEN shown THEN estimate - 1.959963984540054 * standard_error END AS low,
    CASE WHEN shown THEN estimate + 1.959963984540054 * standard_error END AS high
FROM totals;
