// Stands for Chart.js where it was not there when the daemon was built: the histogram is a table only.
