"""Address of the metrics."""

from django.urls import path

from console.metrics.pages import MetricsView

app_name = "metrics"
urlpatterns = [path("metrics", MetricsView.as_view(), name="scrape")]
