"""The task in the browser: people play, choices are safe, estimates arrive as they play.

`study_plan` and `study_file_sections` read the study file, `choice_tasks` are the kinds of task,
`session_states` is the state machine of a session, `session_store` the database, `session_service`
one transaction per request, `request_limits`, `request_bodies`, `routes` and `server` the network,
`page` what the browser loads, `live_estimates` and `estimation_worker` the fits while people play,
`simulated_players` simulated people, `export` the folder for the analysis.
"""
