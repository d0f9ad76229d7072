-- What the pool was asked for, in the minute's bucket.
SELECT measure, amount FROM lake.draw WHERE window_s = 60 ORDER BY measure
