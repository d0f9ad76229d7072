-- What the pool was asked for.
SELECT measure, amount FROM lake.draw WHERE window_s = 60 AND measure IN ('requests', 'input_tokens') ORDER BY measure
