"""The task in the browser: people play, choices are safe, estimates arrive as they play.

`study_file` reads what a lab wrote, `plan` is what it means, `tasks` are the kinds of task,
`sessions` what a person may do next, `store` where everything is kept, `http` the server, `page`
what the browser loads, `players` simulated people, `exporting` the folder for the analysis.
"""
