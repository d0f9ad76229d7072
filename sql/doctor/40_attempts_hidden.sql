-- Clients that retry inside the library and show one span for all of it.
-- counts: calls
-- costs: 2
-- says: {share} of {whose} calls hide their retries inside the client library
-- mend: Instrument the HTTP client too (httpx, requests, aiohttp, undici), which shows every request
--   with its status, or set max_retries=0 and retry in the application.
SELECT service, dialect, n, of FROM found WHERE counted = 'calls' AND reason = 'attempts_unknown'
