"""The task in the browser: people play, choices are safe, estimates arrive as they play.

`plan` reads what a lab wrote in its study file, `kinds` are the kinds of task, `sessions` what a
person may do next, `store` where everything is kept, `service` what is done for a person,
`requests`, `routes` and `server` the network, `page` what the browser loads, `players` simulated
people, `exporting` the folder for the analysis.
"""
