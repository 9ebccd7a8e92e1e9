"""The task in the browser: people play, choices are safe, estimates arrive as they play.

`plan` and `sections` read the study file, `tasks` are the kinds of task, `sessions` is the state
machine of a session, `store` the database, `session_operations` one transaction per request,
`request_limits`, `request_bodies`, `routes` and `server` the network, `page` what the browser
loads, `live_estimates` and `estimation_worker` the fits while people play, `players` simulated
people, `export` the folder for the analysis.
"""
